"""Runs the listings of the articles from a stock client, as they are published, and keeps a table of what becomes of each batch:
docs/article-scripts.md. The test fails when something comes out otherwise than the table says; --write writes the table anew.

A script is a file of scripts/, named like its article (003 is a translation of 000: it has the same listings). Lines that begin with --# are for
this test: `setup: ..` and `listing: ..` begin a part, `then run what it prints` and `then run its rows` make a script of what comes out, `show rows`
puts the rows into the table. Only folders are mapped (--drive). Sizes and counts are those of the article with --full; otherwise they are made
smaller as SMALLER says, and `GO n` runs a batch at most REPEATS_MAX times. Run it by run.sh scripts.
"""
import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import pytds

from log_flushes import connect, start

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(HERE, "..", "..", "docs", "article-scripts.md")
TITLES = {
    "000": "Understanding log buffer flushes",
    "001": "Delayed Durability in SQL Server 2014",
    "002": "Diagnosing transaction log performance issues and limits of the Log Manager",
    "003": "The translation of 000",
    "004": "Can log files growth affect DML?",
}
SAME_LISTINGS = {"003": "000"}
# What is run in the short form: text of the article, text that is run.
SMALLER = [
    ("1000000", "2000"),
    ("size = 1024MB", "size = 8MB"),
    ("SIZE = 5120000KB", "SIZE = 51200KB"),
    ("@x<>40000", "@x<>400"),
    ("FILEGROWTH = 1024000KB", "FILEGROWTH = 102400KB"),
]
REPEATS_MAX = 20
HEAD = """# What becomes of the articles' scripts

Every listing of the five articles, run in order on one connection by a stock client (python-tds), batch by batch. Written and checked by
`tests/articles/run.sh scripts`; the listings stand in `tests/articles/scripts/`.
{how}
An outcome is the number of rows of each result set, `done` when there is none, and the number of the first error or of messages. What is an error
here is one in the articles, as its title says, or a feature that is refused by name.
"""
SHORT = "They run in a short form: {pairs}; `GO n` runs a batch at\nmost {repeats} times. `--full` runs them as they stand."


def batches(text):
    """Batches at lines of GO, with their counts, as the clients split them: not inside of strings and comments."""
    found, lines, state = [], [], ""
    for line in text.split("\n"):
        go = re.fullmatch(r"\s*GO(?:\s+(\d+))?\s*", line, re.IGNORECASE)
        if go and not state:
            found.append(("\n".join(lines), int(go.group(1) or 1)))
            lines = []
            continue
        lines.append(line)
        at = 0
        while at < len(line):
            two = line[at:at + 2]
            if not state and two == "--":
                break
            if not state and two == "/*":
                state, at = "*/", at + 2
            elif not state and line[at] in "'[\"":
                state, at = {"'": "'", "[": "]", '"': '"'}[line[at]], at + 1
            elif state and line.startswith(state, at):
                at, state = at + len(state), ""
            else:
                at += 1
    found.append(("\n".join(lines), 1))
    return [(text, count) for text, count in found if text.strip()]


class Part:
    def __init__(self, title, is_setup):
        self.title, self.is_setup, self.lines, self.runs, self.shows_rows = title, is_setup, [], None, False


def parts(text):
    found = []
    for line in text.split("\n"):
        if not line.startswith("--#"):
            if found:
                found[-1].lines.append(line)
            continue
        word, _, rest = line[3:].strip().partition(": ")
        if word in ("setup", "listing"):
            found.append(Part(rest, word == "setup"))
        elif line[3:].strip() == "then run what it prints":
            found[-1].runs = "messages"
        elif line[3:].strip() == "then run its rows":
            found[-1].runs = "rows"
        elif line[3:].strip() == "show rows":
            found[-1].shows_rows = True
        elif found:
            raise SystemExit(f"not understood: {line}")
    return found


def run_batch(connection, text):
    """Rows of each result set, texts of messages, number of the first error."""
    cursor = connection.cursor()
    sets, error = [], None
    try:
        cursor.execute(text)
        more = True
        while more:
            if cursor.description is not None:
                sets.append(cursor.fetchall())
            more = cursor.nextset()
    except pytds.Error as raised:
        error = getattr(raised, "number", None) or getattr(raised, "msg_no", None) or str(raised)
    messages = [(message.number, message.args[0]) for _, message in cursor.messages or []]
    cursor.close()
    return sets, messages, error


def outcome(sets, messages, error, shows_rows):
    words = []
    for rows in sets:
        count = f"{len(rows)} row" + ("" if len(rows) == 1 else "s")
        shown = "; ".join(" ".join(str(value) for value in row) for row in rows)
        words.append(f"{count}: {shown}" if shows_rows else count)
    told = sorted({number for number, _ in messages if number and number != error and number not in (5701, 5703)})
    words += [f"message {number}" for number in told]
    if error:
        words.append(f"error {error}")
    return ", ".join(words).rstrip(": ") or "done"


def first_line(text):
    lines = [line.strip() for line in text.split("\n")]
    lines = [line for line in lines if line and not line.startswith("--")]
    return (lines[0] if lines else "").replace("|", "\\|")[:70]


def run_script(connection, part, text, arguments, table, depth=0):
    made = []
    for batch, count in batches(text):
        repeats = count if arguments.full else min(count, REPEATS_MAX)
        outcomes = []
        for _ in range(repeats):
            sets, messages, error = run_batch(connection, batch)
            outcomes.append(outcome(sets, messages, error, part.shows_rows))
            if part.runs == "rows":
                made += [row[0] for rows in sets for row in rows]
            elif part.runs == "messages":
                made += [message for number, message in messages if number == 0]
        same = outcomes[0] if len(set(outcomes)) == 1 else "; ".join(outcomes)
        line = first_line(batch) + (f" (GO {count})" if count > 1 else "")
        table.append((part.title if depth == 0 else "- what came out of it", line, same, part.is_setup))
    if depth == 0:
        run_made(connection, part, made, arguments, table)


def run_made(connection, part, made, arguments, table):
    """What a listing has made, one script after the other; those that come out alike but for the database's number are shown once."""
    shown = []
    for text in made:
        own = []
        run_script(connection, Part(part.title, part.is_setup), shorter(text, arguments), arguments, own, depth=1)
        alike = [(re.sub(r"\bdd\d", "ddN", line), became) for _, line, became, _ in own]
        if shown and shown[-1][1] == alike:
            shown[-1][2] += 1
        else:
            shown.append([own, alike, 1])
    for own, alike, times in shown:
        for (title, line, became, is_setup), (general, _) in zip(own, alike):
            same = f", {times} times" if times > 1 else ""
            table.append((title + same, general if times > 1 else line, became, is_setup))


def shorter(text, arguments):
    if not arguments.full:
        for article, run in SMALLER:
            text = text.replace(article, run)
    return text


def run_article(article, arguments):
    folder = tempfile.mkdtemp(prefix="hardpan-scripts-", dir=arguments.data)
    drives = []
    for letter, below in (("C", "SQLData"), ("D", "SQLLog"), ("E", "Data"), ("F", "Log"), ("G", "SQLLog")):
        os.makedirs(os.path.join(folder, letter, below))
        drives += ["--drive", f"{letter}={os.path.join(folder, letter)}"]
    server, port = start(arguments.binary, os.path.join(folder, "data"), *drives)
    table = []
    try:
        connection = connect("pytds", port)
        with open(os.path.join(HERE, "scripts", SAME_LISTINGS.get(article, article) + ".sql"), encoding="utf-8") as file:
            for part in parts(file.read()):
                run_script(connection, part, shorter("\n".join(part.lines), arguments), arguments, table)
        connection.close()
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(60)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        shutil.rmtree(folder, ignore_errors=True)
    return table


def page(arguments):
    pairs = ", ".join(f"`{article}` as `{run}`" for article, run in SMALLER)
    how = "They run as they stand." if arguments.full else SHORT.format(pairs=pairs, repeats=REPEATS_MAX)
    lines = [HEAD.format(how=how)]
    for article, title in TITLES.items():
        lines.append(f"## {article}: {title}\n\n| listing | batch | outcome |\n|---|---|---|")
        before = None
        for title, line, became, is_setup in run_article(article, arguments):
            shown = "" if title == before else (f"(not the article's) {title}" if is_setup else title)
            before = title
            lines.append(f"| {shown} | `{line}` | {became} |")
        lines.append("")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--data", help="folder for the data directories; the system's temporary folder otherwise")
    parser.add_argument("--full", action="store_true", help="sizes and counts of the articles; prints the table")
    parser.add_argument("--write", action="store_true", help="write the table anew")
    arguments = parser.parse_args()
    found = page(arguments)
    if arguments.full:
        print(found)
        return 0
    if arguments.write:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(found)
        return 0
    with open(PAGE, encoding="utf-8") as file:
        expected = file.read()
    if found == expected:
        print(f"{found.count(chr(10) + '| ')} rows, as docs/article-scripts.md has them")
        return 0
    import difflib
    sys.stdout.writelines(difflib.unified_diff(expected.splitlines(True), found.splitlines(True), "docs/article-scripts.md", "found"))
    return 1


if __name__ == "__main__":
    sys.exit(main())
