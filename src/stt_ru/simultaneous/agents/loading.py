"""From ``--agent agent.py`` or ``--agent module:Class`` to the agent's class."""

from __future__ import annotations

from typing import Any, Final, TypeGuard, TypeVar

from stt_ru.errors import UsageError
from stt_ru.recognition.user_modules import load_module
from stt_ru.simultaneous.agents.agent import GenericAgent

_Agent = TypeVar("_Agent", bound=type[GenericAgent])
_MARK: Final = "_stt_ru_entrypoint"


def entrypoint(agent: _Agent) -> _Agent:
    """Mark the class that ``--agent FILE`` loads from its file."""
    if not is_agent_class(agent):
        raise UsageError(f"@entrypoint: {agent!r} – не класс агента")
    setattr(agent, _MARK, agent.__qualname__)
    return agent


def load_agent_class(name: str) -> type[GenericAgent]:
    """The agent that ``--agent`` names.

    Args:
        name: A file ``agent.py`` with one class under ``@entrypoint``, or ``module:Class`` where
            the module is importable or a path that ends in ``.py``.

    Raises:
        UsageError: If there is no such file, module or class, or it fails while loading.
    """
    module_name, _, class_name = name.rpartition(":")
    if not module_name or name.endswith(".py"):
        module_name, class_name = name, ""
    if not module_name.endswith(".py") and not class_name:
        raise UsageError(f"--agent {name}: нужен файл агента .py или МОДУЛЬ:КЛАСС")
    module = load_module(module_name, "--agent", name)
    if class_name:
        return _agent_class(getattr(module, class_name, None), name)
    marked = [
        value
        for value in vars(module).values()
        if isinstance(value, type) and vars(value).get(_MARK) == value.__qualname__
    ]
    own = [value for value in marked if value.__module__ == module.__name__] or marked
    if not own:
        raise UsageError(
            f"--agent {name}: в файле нет класса с @entrypoint; отметьте им класс агента или "
            f"напишите {name}:КЛАСС"
        )
    if len(own) > 1:
        names = ", ".join(kind.__name__ for kind in own)
        raise UsageError(
            f"--agent {name}: @entrypoint стоит у нескольких классов ({names}): оставьте один или "
            f"напишите {name}:КЛАСС"
        )
    return _agent_class(own[0], name)


def _agent_class(value: Any, name: str) -> type[GenericAgent]:
    if is_agent_class(value):
        return value
    if value is None:
        raise UsageError(f"--agent {name}: в модуле нет класса {name.rpartition(':')[2]}")
    raise UsageError(
        f"--agent {name}: {getattr(value, '__name__', value)!r} не происходит от TextToTextAgent, "
        "SpeechToTextAgent или другого агента stt_ru.simultaneous"
    )


def is_agent_class(value: object) -> TypeGuard[type[GenericAgent]]:
    """Whether it is a class of agents."""
    return isinstance(value, type) and issubclass(value, GenericAgent)
