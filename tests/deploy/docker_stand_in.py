"""`docker compose` as far as docs/operations.md uses it: what it says has to be known, and commands in containers are
run here. `CONTAINERS` names a file with what there is: `services` with their environments, `profiles`, and for each
service `words` of its commands with what stands for them here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

OPTIONS = {
    "up": {"--build", "--detach"},
    "exec": {"--no-TTY"},
    "run": {"--rm", "--no-TTY"},
}


def main(words: list[str], containers: dict[str, Any]) -> int:
    if words.pop(0) != "compose":
        return fault("compose only")
    if words[0] == "--profile" and words[1] not in containers["profiles"]:
        return fault(f"no profile {words[1]}")
    action, *rest = words[2:] if words[0] == "--profile" else words
    while rest and rest[0].startswith("--"):
        option = rest.pop(0)
        if option == "--scale" and action == "up":
            rest[0] = rest[0].partition("=")[0]
        elif option not in OPTIONS.get(action, ()):
            return fault(f"{action} has no option {option}")
    if action in {"exec", "run"}:
        service, *command = rest
        return run(service, command, containers)
    if action not in {"up", "stop", "restart", "build"}:
        return fault(f"{action} is not known")
    unknown = set(rest) - set(containers["services"])
    return fault(f"no service {unknown}") if unknown else 0


def run(service: str, command: list[str], containers: dict[str, Any]) -> int:
    """Runs a command of a service here."""
    words = containers["words"].get(service, {})
    here = [words.get(word, word) for word in command]
    environment = {**os.environ, **containers["services"][service]}
    return subprocess.run(here, env=environment, check=False).returncode


def fault(message: str) -> int:
    sys.stderr.write(f"{message}\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], json.loads(Path(os.environ["CONTAINERS"]).read_text())))
