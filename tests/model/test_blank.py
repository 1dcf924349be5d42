"""Modules without weights."""

import threading

import torch
from torch import Tensor, nn

from ragcache.model.blank import blank, blank_parameters


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


class Turned(nn.Module):
    """With a buffer that no checkpoint holds."""

    angles: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 3)
        self.register_buffer("angles", torch.arange(4.0), persistent=False)


def test_buffers_have_their_values_where_parameters_are_blank() -> None:
    with blank_parameters():
        empty = Turned()
    assert {weight.device.type for weight in empty.parameters()} == {"meta"}
    assert empty.angles.tolist() == [0.0, 1.0, 2.0, 3.0]
    empty.load_state_dict(Turned().state_dict(), assign=True)
    assert empty.linear(torch.ones(1, 4)).shape == (1, 3)
    assert Turned().linear.weight.device.type == "cpu"  # afterwards all is as before


def test_modules_of_other_threads_keep_their_weights() -> None:
    made: list[nn.Module] = []
    with blank_parameters():
        other = threading.Thread(target=lambda: made.append(nn.Linear(4, 3)))
        other.start()
        other.join()
    assert made[0].weight.device.type == "cpu"
