from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace

import pytest

from ragcache.errors import InputError
from ragcache.registry import AffixKey
from ragcache.registry.key import canonical_digest, namespace_key

SECRET = b"s" * 32
KEY = AffixKey("nano", "words", "float32", "theta=10000", (1, 2, 3))


@pytest.mark.parametrize(
    "change",
    [
        {"model": "other"},
        {"tokenizer": "other"},
        {"dtype": "bfloat16"},
        {"rope": "theta=500000"},
        {"token_ids": (1, 2, 4)},
        {"context": "scaffold"},
        {"adapter": "lora"},
        {"codec": "int8"},
        {"namespace": "other"},
    ],
)
def test_every_field_is_part_of_the_digest(change: dict[str, str]) -> None:
    assert replace(KEY, **change).digest(SECRET) != KEY.digest(SECRET)


def test_digest_is_the_same_in_every_process() -> None:
    assert KEY.digest(SECRET) == "806daf9e212ca874dc6a7a967290405fd71e4f37dfe61de1aef89ca19f5a5926"


def test_digest_depends_on_the_secret() -> None:
    assert KEY.digest(b"t" * 32) != KEY.digest(SECRET)


def test_canonical_names_no_token() -> None:
    key = replace(KEY, token_ids=(123456789,))
    assert "123456789" not in key.canonical()


@pytest.mark.parametrize("token_ids", [(), [1, 2]])
def test_token_ids_must_be_a_tuple_of_some(token_ids: object) -> None:
    with pytest.raises(InputError, match="token_ids"):
        replace(KEY, token_ids=token_ids)


@pytest.mark.parametrize("token_ids", [(1.5,), (2**63,), ("1",)])
def test_token_ids_must_be_whole_numbers(token_ids: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="whole numbers"):
        replace(KEY, token_ids=token_ids).digest(SECRET)


def test_empty_field_is_refused() -> None:
    with pytest.raises(InputError, match="namespace"):
        replace(KEY, namespace="")


@pytest.mark.parametrize("namespace", ["a", "shared", "\ud800", "default "])
def test_namespaces_have_keys_of_their_own(make_key, namespace: str) -> None:
    key, secret = make_key(namespace=namespace), bytes(32)
    plain = hmac.new(secret, key.canonical().encode(), hashlib.sha256).hexdigest()
    assert key.digest(secret) != plain
    assert key.digest(secret) == canonical_digest(secret, key.canonical())
    assert key.digest(namespace_key(secret, namespace)) != key.digest(secret)


def test_the_default_namespace_keeps_the_digests_it_always_had(make_key) -> None:
    key, secret = make_key(), bytes(32)
    assert key.digest(secret) == hmac.new(secret, key.canonical().encode(), hashlib.sha256).hexdigest()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"namespace": 5}', "[" * 5000], ids=len)
def test_a_text_that_is_no_key_has_no_digest(text: str) -> None:
    with pytest.raises((ValueError, KeyError, TypeError, RecursionError)):
        canonical_digest(bytes(32), text)
