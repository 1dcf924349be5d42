"""How the shipped model `nano` is made: tokenizer, data, training. Not part of the installed package."""
