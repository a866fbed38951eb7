"""User-supplied modules: recognisers for ``-m``, agents, measures.

Their code may do anything, also end the program: whatever it raises while it loads is one sentence.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stt_ru.errors import USERS_FAILURES, UsageError, sentence_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType


def load_module(name: str, option: str, value: str | None = None) -> ModuleType:
    """Import a user's module by its name or its file.

    Args:
        name: An importable module, or a path that ends in ``.py``; its folder is then importable.
        option: The option that names it, for messages.
        value: What the user wrote after the option; None for ``name`` alone.

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
    except USERS_FAILURES as error:
        what = "модуль" if value in (None, name) else f"модуль {name}"
        raise UsageError(
            f"{option} {value or name}: {what} не загрузился: {sentence_of(error)}"
        ) from error


def user_factory(name: str) -> Callable[[], Any]:
    """The function that makes a user-supplied recogniser.

    Args:
        name: ``module:function``; the module is importable, or a path that ends in ``.py``.

    Raises:
        UsageError: If there is no such module or function.
    """
    module_name, _, function_name = name.rpartition(":")
    factory = getattr(load_module(module_name, "-m", name), function_name, None)
    if not callable(factory):
        raise UsageError(f"-m {name}: в модуле {module_name} нет функции {function_name}")
    made: Callable[[], Any] = factory
    return made


def _module_from_file(path: Path, option: str) -> ModuleType:
    # A name of its own: a user's json.py must not stand in for the library's module.
    name = f"stt_ru_user_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"{option}: нет файла {path}")
    folder = str(path.parent.resolve())
    if folder not in sys.path:
        # Modules beside it, as when Python runs the file itself; last, for the same json.py.
        sys.path.append(folder)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
