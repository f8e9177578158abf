"""Log lines as JSON on standard error, in the shape that Cloud Logging reads."""

import json
import logging
import sys

_OF_EVERY_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class JsonFormatter(logging.Formatter):
    """One JSON object for each record: severity, message and the `extra` fields, such as the `invocationId` of a call."""

    def format(self, record: logging.LogRecord) -> str:
        """Makes the line of one record. Python and Cloud Logging use the same names of levels."""
        line: dict[str, object] = {"severity": record.levelname, "message": record.getMessage()}
        line |= {name: value for name, value in vars(record).items() if name not in _OF_EVERY_RECORD}
        if record.exc_info:
            line["stack"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_as_json() -> None:
    """Sets up the root logger, which writes warnings and errors."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
