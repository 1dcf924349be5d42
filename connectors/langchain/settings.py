"""What a LangChain model of ours can be told, at construction and per call, and the requests that follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetPydanticSchema,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_core.core_schema import any_schema

from ragcache import __version__
from ragcache.connectors.langchain.engine_handle import EngineHandle, EngineSpec
from ragcache.decoding.commit import FixedSteps
from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Request
from ragcache.errors import ConfigError
from ragcache.prompt import Affix, Prompt
from ragcache.registry import codec_for
from ragcache.reuse.policy import ReusePolicy, as_policy

CALL_OPTIONS = (
    "max_tokens",
    "block_length",
    "steps",
    "temperature",
    "seed",
    "top_k",
    "top_p",
    "min_tokens",
    "confidence",
    "policy",
    "budget",
    "codec",
    "affixes",
)
_SPEC = ("model", "store", "device", "dtype", "remote", "namespace", "shared", "replicas")

# pydantic cannot look into a policy, which may hold anyone's criterion; `chosen_policy` checks it.
_Policy: TypeAlias = Annotated[ReusePolicy | str | None, GetPydanticSchema(lambda *_: any_schema())]


class EngineSettings(BaseModel):
    """Fields shared by all faces of one engine. Construction loads nothing; unknown fields are refused.

    Give `engine` to share one, else `model`, `store`, `device`, `dtype` and `remote` say what to load on
    first use; with `replicas`, devices, the model is loaded on each of them, in processes of their own.
    Names and pages are those of `namespace`; affixes named in `shared` may be the public ones.
    `max_tokens` and `block_length` are in tokens, `timeout` in seconds from the call on; `max_retries` is how
    often a call is made again whose forward raised. `steps` are denoising steps per block, None commits
    whatever is confident. `top_k`, `top_p`, `min_tokens` and `confidence` are those of `DecodingOptions`.
    With `streaming` callbacks are told every piece of the answer to a single prompt, however it was asked
    for; such a call is not made again.
    `policy` may be in short form (`parse_policy`), and `budget` is short for a policy of that budget. `codec`
    says how pages are stored. `affixes` maps names to texts: wherever one stands in a prompt it is reused
    under its name.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    engine: EngineHandle = Field(exclude=True, repr=False, frozen=True, default=None)  # type: ignore[assignment]
    model: str = Field(default="nano", frozen=True)
    store: Path | None = Field(default=None, frozen=True)
    device: str = Field(default="auto", frozen=True)
    dtype: str = Field(default="auto", frozen=True)
    remote: str | None = Field(default=None, frozen=True)
    namespace: str = Field(default="default", frozen=True)
    shared: tuple[str, ...] = Field(default=(), frozen=True)
    replicas: tuple[str, ...] = Field(default=(), frozen=True)
    max_tokens: int = 32
    block_length: int | None = None
    steps: int | None = None
    temperature: float = 0.0
    seed: int = 0
    top_k: int | None = None
    top_p: float | None = None
    min_tokens: int = 0
    confidence: str | None = None
    stop: list[str] | None = None
    timeout: float | None = None
    max_retries: int = Field(default=0, ge=0)
    streaming: bool = False
    policy: _Policy = None
    budget: float | None = None
    codec: str | None = None
    affixes: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _share_engine(cls, values: dict[str, Any]) -> dict[str, Any]:
        """Make a handle where none is given; with one, what it was made with counts."""
        handle = values.get("engine")
        given = {name: values[name] for name in _SPEC if name in values}
        if given.get("store") is not None:
            given["store"] = Path(given["store"])
        for name in ("shared", "replicas"):
            if name in given:
                given[name] = tuple(given[name])
        if handle is None:
            handle = EngineHandle(EngineSpec(**given))
        if not isinstance(handle, EngineHandle):
            raise ConfigError(f"engine is a {type(handle).__name__}; wrap an Engine with EngineHandle.of")
        own = {name: getattr(handle.spec, name) for name in _SPEC}
        for name, value in given.items():
            if value != own[name]:
                raise ConfigError(
                    f"{name} is {value!r}, but the engine was made with {own[name]!r}; "
                    "make an EngineHandle for each, or leave it out"
                )
        return {**values, **own, "engine": handle}

    # A field of LangChain's models, declared here for what is shared by both.
    custom_get_token_ids: Callable[[str], list[int]] | None = Field(default=None, exclude=True)

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return self.output_settings()

    def get_token_ids(self, text: str) -> list[int]:
        """Token ids of plain text in the model's own vocabulary; loads the model."""
        if self.custom_get_token_ids is not None:
            return self.custom_get_token_ids(text)
        return list(self.engine.get().model.tokenizer.encode(text).ids)

    @field_validator("affixes")
    @classmethod
    def _check_affixes(cls, affixes: dict[str, str]) -> dict[str, str]:
        return {affix.name: affix.text for affix in (Affix(*item) for item in affixes.items())}

    @model_validator(mode="after")
    def _check_values(self) -> Self:
        if self.policy is not None and self.budget is not None:
            raise ConfigError("policy and budget are both given; a budget is short for a policy: give one")
        self.chosen_policy()
        self.chosen_codec()
        self.decoding_options()
        return self

    def with_options(self, options: Mapping[str, Any]) -> Self:
        """A copy for one call, sharing the engine; all its settings enter LangChain's cache key.

        Raises `ConfigError` for an option that no call has, or a value out of range.
        """
        if not options:
            return self
        if unknown := sorted(options.keys() - set(CALL_OPTIONS)):
            raise ConfigError(
                f"a call has no option {', '.join(unknown)}; known: {', '.join(CALL_OPTIONS)}, stop"
            )
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        if "policy" in options or "budget" in options:
            fields.update(policy=None, budget=None)
        try:
            return type(self)(**{**fields, **options})
        except ValidationError as error:
            raise ConfigError(f"this call's options cannot be used: {error}") from error

    def chosen_policy(self) -> ReusePolicy:
        """The call's policy: as given, by budget, or the engine's own."""
        if self.budget is not None:
            return ReusePolicy(budget=self.budget)
        return self.engine.policy if self.policy is None else as_policy(self.policy)

    def chosen_codec(self) -> str:
        """The call's codec: as given, or the engine's own."""
        return codec_for(self.engine.codec if self.codec is None else self.codec).name

    def decoding_options(self) -> DecodingOptions:
        """The settings as the engine takes them."""
        return DecodingOptions(
            max_tokens=self.max_tokens,
            block_length=self.block_length,
            rule=None if self.steps is None else FixedSteps(self.steps),
            temperature=self.temperature,
            seed=self.seed,
            top_k=self.top_k,
            top_p=self.top_p,
            min_tokens=self.min_tokens,
            confidence=self.confidence,
        )

    def merged_stop(self, stop: Sequence[str] | None) -> list[str]:
        """The constructor's stop strings and the call's, each once."""
        call = [stop] if isinstance(stop, str) else stop or []
        return list(dict.fromkeys([*(self.stop or []), *call]))

    def request(self, prompt: Prompt, stop: Sequence[str] | None) -> Request:
        """The engine's request for one prompt."""
        return Request(
            prompt,
            self.decoding_options(),
            stop=tuple(self.merged_stop(stop)),
            policy=self.chosen_policy(),
            timeout_s=self.timeout,
            codec=self.chosen_codec(),
        )

    def output_settings(self) -> dict[str, Any]:
        """Everything that changes an answer, as plain JSON."""
        policy = self.chosen_policy()
        return {
            "ragcache": __version__,
            "model": self.model,
            "store": None if self.store is None else str(self.store),
            "device": self.device,
            "dtype": self.dtype,
            "namespace": self.namespace,
            "shared": list(self.shared),
            "match_registered": self.engine.spec.match_registered,
            "max_tokens": self.max_tokens,
            "block_length": self.block_length,
            "steps": self.steps,
            "temperature": self.temperature,
            "seed": self.seed,
            "top_k": self.top_k,
            "top_p": self.top_p,
            "min_tokens": self.min_tokens,
            "confidence": self.confidence,
            "stop": self.stop or [],
            "policy": policy.name,
            "codec": self.chosen_codec(),
            "affixes": self.affixes,
        }
