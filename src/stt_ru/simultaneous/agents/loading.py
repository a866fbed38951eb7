"""From ``--agent agent.py`` or ``--agent module:Class`` to the agent's class."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeGuard, TypeVar

from stt_ru.errors import UsageError, sentence_of
from stt_ru.simultaneous.agents.agent import GenericAgent

if TYPE_CHECKING:
    from types import ModuleType

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
    module = load_module(module_name, option="--agent")
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


def load_module(name: str, *, option: str) -> ModuleType:
    """Import a user's module by its name or its file.

    Args:
        name: An importable module, or a path that ends in ``.py``; its folder is then importable.
        option: The option that names it, for messages.

    Raises:
        UsageError: If it is not there, or fails while loading.
    """
    try:
        with chdir("."):  # the module may change the current folder
            if name.endswith(".py"):
                return _module_from_file(Path(name), option)
            if "" not in sys.path:
                sys.path.insert(0, "")  # the current folder, as ``python -m`` has it
            return importlib.import_module(name)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"{option} {name}: модуль не загрузился: {sentence_of(error)}") from error


def _module_from_file(path: Path, option: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"stt_ru_user_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"{option}: нет файла {path}")
    folder = str(path.parent.resolve())
    if folder not in sys.path:
        sys.path.append(folder)  # modules beside the agent, as when Python runs the file itself
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


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
