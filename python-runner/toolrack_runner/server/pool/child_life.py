"""Checks that each message of a child comes at an allowed moment of the child's life (`Moment`).

The moments of a call are UNTOLD, ORDERED, (ANNOUNCED,) IMPORTING, READY, CALLED, ANSWERED. If the child may serve more
calls, RESTED follows, and then CALLED again. The moments of a check are UNTOLD, READING, READ, EXAMPLES, LOADED, DONE. Up
to ANNOUNCED, and in READING, only the runner's own code has run in the child, so the child's messages are trusted. The
module may have forged every later message.
"""

from enum import Enum
from typing import assert_never, get_args

from toolrack_runner.wire import child_messages as messages
from toolrack_runner.wire.child_messages import Answer, ChildMessage, Order, ProtocolError


class Moment(Enum):
    UNTOLD = "the child has no order yet, and may not be confined yet"
    ORDERED = "the child has the order to import a module, and has not started"
    ANNOUNCED = "the child has sent the names of the packages that the module imports"
    IMPORTING = "the module's code runs"
    READY = "the module is imported, and the child has no invocation yet"
    CALLED = "the module is imported, and its tool runs"
    ANSWERED = "the call is over"
    RESTED = "the child has tidied up after its call, and has no next one yet"
    READING = "the child has the order to check a module, and is reading the module"
    READ = "the module was read, and its code runs"
    EXAMPLES = "the module is imported, and its examples run"
    LOADED = "the last report has come"
    DONE = "the check is over"
    FAILED = "the child could not follow its order: the runner's fault"


#: For each moment, the messages that may come, and the moment that follows each of them. At other moments no message may
#: come. Connect and Values are not in the table, because `heard` handles them.
_NEXT: dict[Moment, dict[object, Moment]] = {
    Moment.UNTOLD: {messages.Failed: Moment.FAILED},
    Moment.ORDERED: {
        messages.Failed: Moment.FAILED,
        messages.Imports: Moment.ANNOUNCED,
        messages.Starting: Moment.IMPORTING,
        messages.CallFailure: Moment.ANSWERED,
    },
    Moment.ANNOUNCED: {messages.Failed: Moment.FAILED, messages.Starting: Moment.IMPORTING},
    Moment.IMPORTING: {messages.Ready: Moment.READY, messages.CallFailure: Moment.ANSWERED},
    Moment.CALLED: {
        messages.Progress: Moment.CALLED,
        # `MadeContent` checks their order (`server/pool/made_content.py`).
        messages.ContentPart: Moment.CALLED,
        messages.ContentPiece: Moment.CALLED,
        **dict.fromkeys(get_args(Answer), Moment.ANSWERED),
    },
    Moment.READING: {messages.Failed: Moment.FAILED, "parsed": Moment.READ},
    Moment.READ: {"imported": Moment.EXAMPLES, "loaded": Moment.LOADED},
    Moment.EXAMPLES: {messages.ExampleStarts: Moment.EXAMPLES, "loaded": Moment.LOADED},
    Moment.LOADED: {messages.Done: Moment.DONE},
}


class ChildLife:
    """Follows the messages to and from one child."""

    def __init__(self) -> None:
        self.moment = Moment.UNTOLD
        self._is_called = False
        #: Whether the child may serve more than one call, and the number of its present call.
        self._is_reused = False
        self._number = 0
        self._streams = False
        self._has_network = False
        self._is_connecting = False

    @property
    def has_begun(self) -> bool:
        """Whether code of the module may have run."""
        return self.moment not in (Moment.UNTOLD, Moment.ORDERED, Moment.ANNOUNCED, Moment.READING)

    def told(self, order: Order) -> None:
        """Notes that the server process has sent an order.

        The server process may send the invocation directly after the order to import the module.
        """
        match order:
            case messages.Invocation():
                self._is_called = True
                self._streams = order.streams
                self._number = order.number
                if self.moment in (Moment.READY, Moment.RESTED):
                    self.moment = Moment.CALLED
            case messages.CallOrder():
                self.moment = Moment.ORDERED
                self._has_network = order.network
                self._is_reused = order.reuse
            case messages.ConnectReply():
                self._is_connecting = False
            case messages.CheckOrder():
                self.moment = Moment.READING
            case messages.ProbeOrder():
                pass  # Only the zygote sends this order, and it reads the answer itself.
            case _:
                assert_never(order)

    def heard(self, message: ChildMessage) -> None:
        """Notes a message of the child. Raises ProtocolError if the message may not come at this moment."""
        kind = type(message)
        if kind is messages.Connect:
            # There may be only one Connect at a time, because the runner's code in the child waits for each reply.
            if self.moment is not Moment.CALLED or not self._has_network or self._is_connecting:
                raise ProtocolError("'connect' came at the wrong time")
            self._is_connecting = True
            return
        if kind is messages.Values:
            if self.moment is not Moment.CALLED or not self._streams:
                raise ProtocolError("'values' came at the wrong time")
            return
        if isinstance(message, messages.Rested):
            if self.moment is not Moment.ANSWERED or not self._is_reused or message.call != self._number:
                raise ProtocolError("'rested' came at the wrong time")
            self.moment = Moment.RESTED
            return
        if isinstance(message, Answer) and message.call != self._number:
            raise ProtocolError("an answer to another call came at the wrong time")
        said = message.stage if isinstance(message, messages.StageReport) else kind
        following = _NEXT.get(self.moment, {}).get(said)
        if following is None:
            raise ProtocolError(f"'{kind.__name__}' came at the wrong time")
        self.moment = Moment.CALLED if following is Moment.READY and self._is_called else following
