"""Hardpan's side of random_queries.py: scripts run by `hardpan sql`, in its own process or against a server in which others change the rows."""
import os
import shutil
import subprocess
import tempfile
import time

# What depends on which rows are looked at first, or that a hint leaves no plan: neither is a difference.
EXCUSED = ("Msg 8115", "Msg 8134", "Msg 220,", "Msg 8622", "Msg 8632", "Msg 8623", "Msg 3623")
# A seed that takes longer has a query of many millions of rows, which SQLite has answered in another way: told, and no difference.
SECONDS_MAX = 40
TOO_SLOW = "too slow"
PASSWORD = "Differential-1"
FORM = ["-W", "-h", "-1", "-s", "|"]


def settings(arguments):
    """What the database is told before there are tables."""
    text = ""
    if arguments.without_statistics:
        text += "alter database current set auto_create_statistics off\nalter database current set auto_update_statistics off\ngo\n"
    return text


def split(output):
    """Output lines by statement: each is announced by PRINT."""
    lines, current = {}, None
    for line in output.splitlines():
        if line.startswith("#"):
            current = lines.setdefault(line[1:], [])
        elif current is not None and line and not line.startswith("Warning"):
            current.append(line)
    return lines


def run_script(arguments, script):
    """Output lines by statement, and the complaints, of a script in a new database."""
    data = tempfile.mkdtemp(prefix="hardpan-differential-")
    path = os.path.join(data, "script.sql")
    with open(path, "w") as file:
        file.write("set nocount on\ncreate database d\ngo\nuse d\ngo\n" + script)
    try:
        command = [arguments.binary, "sql", "--data", os.path.join(data, "data"), "-i", path, *FORM]
        if arguments.rows_in_memory:
            command += ["--rows-in-memory-test", str(arguments.rows_in_memory)]
        done = subprocess.run(command, capture_output=True, timeout=SECONDS_MAX)
        output, complaint = done.stdout, done.stderr.decode(errors="replace")
    except subprocess.TimeoutExpired as late:
        output, complaint = late.stdout or b"", TOO_SLOW
    finally:
        shutil.rmtree(data)
    lines = split(output.decode(errors="replace"))
    if complaint == TOO_SLOW and lines:
        # It was at work on the last one, or on the table behind it.
        last, _ = lines.popitem()
        lines.pop(last.rstrip("t"), None)
    return lines, complaint


class Server:
    """One for a whole run."""

    running = None

    def __init__(self, binary):
        self.binary = binary
        self.data = tempfile.mkdtemp(prefix="hardpan-differential-")
        command = [binary, "serve", "--data", os.path.join(self.data, "data"), "--listen", "127.0.0.1:0"]
        self.environment = dict(os.environ, HARDPAN_SA_PASSWORD=PASSWORD)
        self.log = open(os.path.join(self.data, "log"), "w")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True, env=self.environment)
        self.port = next(line.split("127.0.0.1:")[1].split()[0].strip(".,)") for line in self.process.stdout if "127.0.0.1:" in line)

    def client(self, *arguments, **more):
        """A client's process."""
        command = [self.binary, "sql", "-S", f"127.0.0.1,{self.port}", *arguments]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.environment, **more)

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self.log.close()
        shutil.rmtree(self.data)


def tell(client, text):
    """Gives a client a text and waits until it is done."""
    client.stdin.write(f"{text}\nprint '= done ='\ngo\n")
    client.stdin.flush()
    for line in client.stdout:
        if line.startswith("= done ="):
            return
    raise RuntimeError(f"the client ended: {client.wait()}")


def run_versioned(arguments, seed, before, changes, script):
    """The script reads what was there before the changes of another session: not committed ones (even seeds), or also committed ones that came after
    the snapshot of its transaction (odd seeds)."""
    server = Server.running = Server.running or Server(arguments.binary)
    name, path = f"d{seed}", os.path.join(server.data, "script.sql")
    made = f"set nocount on\ncreate database {name}\ngo\nuse {name}\ngo\nalter database current set allow_snapshot_isolation on\nalter database current set read_committed_snapshot on\ngo\n"
    reader, writer = (server.client(*FORM, stdin=subprocess.PIPE) for _ in range(2))
    try:
        tell(reader, made + before)
        tell(writer, f"set nocount on\nuse {name}\ngo")
        if seed % 2:
            begun = "set transaction isolation level snapshot\nbegin tran\nselect count(*) from t0\ngo"
            tell(reader, begun)
            tell(writer, changes)
        tell(writer, f"begin tran\ngo\n{changes}")
        with open(path, "w") as file:
            file.write(f"{script}\nprint '#end'\ngo\n")
        began = time.monotonic()
        output, complaint = reader.communicate(f":r {path}\n", timeout=600)
        lines = split(output)
        if "end" not in lines:
            complaint = f"ended after {time.monotonic() - began:.0f} s: {output[-300:]}"
    finally:
        for client in (reader, writer):
            client.kill()
            client.wait()
    cleaner = server.client("-Q", f"alter database {name} set single_user with rollback immediate; drop database {name}")
    cleaner.communicate(timeout=60)
    return lines, complaint or ""
