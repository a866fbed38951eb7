"""Scorers by name: the built-in ones, and those a user's file adds."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from stt_ru.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

T = TypeVar("T", bound="type[Any]")


class Registry(Generic[T]):
    """Names and the classes behind them.

    A user-supplied class replaces a built-in of its name, which `take_notices` reports; two
    user-supplied ones under one name are an error, unless the same file is loaded again.

    Args:
        what: What is registered, in the genitive, for messages: «показателя задержки».
        builtins: The names that are always there.
    """

    def __init__(self, what: str, builtins: Mapping[str, T]) -> None:
        self._what = what
        self._builtins = dict(builtins)
        self._users: dict[str, T] = {}
        self._notices: list[str] = []

    def register(self, name: str) -> Callable[[T], T]:
        """Decorate a class to be found under ``name``.

        Raises:
            UsageError: When decorating, if another user-supplied class has the name.
        """

        def decorate(scorer: T) -> T:
            earlier = self._users.get(name)
            if earlier is not None and _origin(earlier) != _origin(scorer):
                raise UsageError(
                    f"имя {self._what} {name} занято дважды: {_place(earlier)} и {_place(scorer)}"
                )
            if name in self._builtins and earlier is None:
                self._notices.append(f"встроенный расчёт {name} заменён классом {_place(scorer)}")
            self._users[name] = scorer
            return scorer

        return decorate

    def take_notices(self) -> list[str]:
        """What was replaced since the last call, sentences in Russian."""
        notices, self._notices = self._notices, []
        return notices

    def is_replaced(self, name: str) -> bool:
        """Whether the class is user-supplied."""
        return name in self._users

    def names(self) -> list[str]:
        """All names, the built-in ones first."""
        return list(dict.fromkeys((*self._builtins, *self._users)))

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def find(self, name: str) -> T:
        """The class under ``name``.

        Raises:
            UsageError: If it is missing; the message lists the known names.
        """
        found = self._users.get(name) or self._builtins.get(name)
        if found is None:
            raise UsageError(f"нет {self._what} «{name}»; есть: {', '.join(self.names())}")
        return found


def _origin(scorer: type[Any]) -> tuple[str, str]:
    try:
        file = inspect.getfile(scorer)
    except (TypeError, OSError):  # made in an interactive session
        file = scorer.__module__
    return file, scorer.__qualname__


def _place(scorer: type[Any]) -> str:
    file, name = _origin(scorer)
    return f"{name} ({file})"
