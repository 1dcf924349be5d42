"""Modules without weights."""

from torch import nn

from ragcache.model.blank import blank


def test_blank_modules_take_their_weights_from_a_state() -> None:
    filled = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3), nn.LayerNorm(3))
    with blank():
        empty = nn.Sequential(nn.Embedding(5, 4), nn.Linear(4, 3), nn.LayerNorm(3))
    assert {weight.device.type for weight in empty.parameters()} == {"meta"}
    empty.load_state_dict(filled.state_dict(), assign=True)
    assert empty[0].weight.equal(filled[0].weight)


def test_initialisation_is_back_afterwards() -> None:
    with blank():
        pass
    assert nn.Linear(4, 4).weight.abs().max() > 0
