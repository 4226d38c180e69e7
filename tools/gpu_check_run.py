"""Runs commands within a budget of seconds, and keeps what they left: for tools/gpu_check.

A part of the check is a list of commands. Each command is a process group of its own, which is killed as a whole when
the part's seconds are over. What a part left is one JSON file, written when the part has ended, so that a check that
was killed goes on with the parts that have none."""
import contextlib
import json
import os
import signal
import subprocess
import sys
import time

GRACE = 3  # seconds that a command has to end after SIGTERM
LINES = 40  # of a command's output that are kept


class Stopped(Exception):
    """By a signal."""
    def __init__(self, number):
        super().__init__(f"signal {number}")
        self.number = number


class Part:
    """What a part left: PASSED until something makes it worse."""
    def __init__(self, name):
        self.name, self.status, self.reason, self.seconds = name, "passed", "", 0.0
        self.runs, self.figures, self.dropped = [], {}, []

    def worse(self, status, reason):
        if self.status != "failed":
            self.status, self.reason = status, reason

    def measure(self, **figures):
        """Figures that are None were not measured."""
        self.figures.update({key: value for key, value in figures.items() if value is not None})

    def document(self):
        return dict(vars(self))


class Run:
    """A command that has ended: ok, exit status, output, and figures where the output is one JSON object."""
    def __init__(self, title, command, code, seconds, cut):
        self.title, self.command, self.code, self.seconds, self.cut = title, command, code, seconds, cut
        self.ok, self.output, self.error, self.figures = False, "", "", None


class Budget:
    """Seconds: each part may take its own even when those before it were slow, and what these left over."""
    def __init__(self, begin, total, shares):
        self.begin, self.end, self.shares = begin, begin + total - GRACE, dict(shares)

    def seconds(self):
        return time.monotonic() - self.begin

    def end_of(self, name, later):
        """When the part must have ended; `later`: the parts that are still to come."""
        now = time.monotonic()
        return min(self.end, max(now + self.shares[name], self.end - sum(self.shares[part] for part in later)))


class Runner:
    def __init__(self, budget, work, environment, hide):
        self.budget, self.work, self.environment, self.hide = budget, work, environment, hide
        self.part, self.part_end = None, budget.end

    def progress(self, text):
        print(f"gpu_check: {self.budget.seconds():3.0f} s  {self.part.name if self.part else 'start':9}  {text}",
              file=sys.stderr, flush=True)

    def left(self):
        return self.part_end - time.monotonic()

    def plain(self, text):
        """Without the folders of this machine."""
        for folder, name in self.hide:
            text = text.replace(folder, name)
        return text

    def execute(self, command, seconds, environment, out, error):
        """Exit status, and whether it was cut. Everything that the command started ends with it when it is cut."""
        with open(out, "wb") as to, open(error, "wb") as errors:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=to, stderr=errors,
                                       env={**self.environment, **environment}, start_new_session=True)
        try:
            return process.wait(seconds), False
        except subprocess.TimeoutExpired:
            return end_group(process), True
        except BaseException:
            end_group(process)
            raise

    def run(self, title, command, expected=0, share=1.0, late_status=None, **environment):
        """Within a share of what is left to the part. A command that ends with another status than the expected one fails
        the part, and is a row of the report. `late_status`: one that says that time was short, and fails nothing."""
        left = self.left() * share
        if left < 1:
            self.part.worse("no time", f'from "{title}" on')
            return None
        self.progress(title)
        out, error = os.path.join(self.work, "out"), os.path.join(self.work, "error")
        begin = time.monotonic()
        try:
            code, cut = self.execute([str(word) for word in command], left, environment, out, error)
        except OSError as problem:
            with open(error, "w", encoding="utf-8") as file:
                file.write(f"{problem.strerror}: {problem.filename}\n")
            code, cut = 127, False
        run = Run(title, command, code, time.monotonic() - begin, cut)
        run.output, run.error = read(out), read(error)
        run.ok = code in (expected, late_status) and not cut
        self.parse(run)
        self.keep(run, environment)
        return run

    def parse(self, run):
        if not run.output.lstrip().startswith("{"):
            return
        try:
            run.figures = json.loads(run.output)
        except ValueError as problem:
            if run.ok:
                run.ok = False
                run.error += f"the output is no JSON object: {problem}\n"

    def keep(self, run, environment):
        words = last_line(run.output if run.figures is None else "", run.error)
        why = ""
        if run.cut:
            why = f"cut after {run.seconds:.0f} s"
        elif not run.ok:
            why = f"exit status {run.code}" if run.code >= 0 else f"killed by signal {-run.code}"
        if why:
            self.part.worse("failed", f'"{run.title}": {why}')
        shown = (run.error + (run.output if run.figures is None else "")).rstrip().split("\n")[-LINES:]
        prefix = [f"{key}={value}" for key, value in environment.items()]
        self.part.runs.append({
            "title": run.title, "command": self.plain(" ".join(prefix + [str(word) for word in run.command])),
            "exit_status": run.code, "ok": run.ok, "why": why, "words": self.plain(words) if why else "",
            "seconds": round(run.seconds, 1), "figures": run.figures, "output": self.plain("\n".join(shown))})


def end_group(process):
    """SIGTERM to the whole process group, SIGKILL to what is left of it; the exit status of the first process."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


def read(path):
    with open(path, "rb") as file:
        return file.read().decode("utf-8", "replace")


def last_line(*texts):
    """What the command said last: a line of its errors, or of its output."""
    for text in reversed(texts):
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        if lines:
            return lines[-1][:400]
    return "no word"


def find(document, key):
    """The first value of that key in a JSON document, at any depth; None where there is none."""
    if isinstance(document, dict):
        if key in document:
            return document[key]
        document = list(document.values())
    if isinstance(document, list):
        for value in document:
            found = find(value, key)
            if found is not None:
                return found
    return None


# ---- what was kept ----

class State:
    """A file for each part that has ended, in a folder that is stamped with what they are about."""
    def __init__(self, folder, stamp, resume):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        old = os.path.join(folder, "stamp.json")
        if not resume or load(old) != stamp:
            for name in os.listdir(folder):
                if name.endswith(".json"):
                    os.unlink(os.path.join(folder, name))
            save(old, stamp)

    def load(self, name):
        document = load(os.path.join(self.folder, f"part_{name}.json"))
        if document is None:
            return None
        part = Part(name)
        vars(part).update(document)
        return part

    def save(self, part):
        save(os.path.join(self.folder, f"part_{part.name}.json"), part.document())


def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def save(path, document):
    replace(path, json.dumps(document, indent=1) + "\n")


def replace(path, text):
    """At once: a reader finds the old text or the new one."""
    with open(path + ".tmp", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".tmp", path)
