"""Includes only point down the ranks of the tree (see docs/architecture.md): check_includes.py FILE…"""
import re
import sys

# (path prefix, what it may include of ours, which libraries); the first match counts.
RANKS = [
    ("models/json/", ("models/",), ("fmt/", "tl/")),
    ("models/store/sqlite/", ("models/",), ("fmt/", "tl/", "sqlite3.h")),
    ("models/store/postgres/", ("models/",), ("fmt/", "tl/", "libpq-fe.h")),
    ("models/store/", ("models/",), ("fmt/", "tl/", "openssl/")),
    ("models/operations/", ("models/",), ("tl/",)),
    ("models/", ("models/",), ("fmt/", "tl/")),
    ("triggers/", ("triggers/", "models/"), ("fmt/", "tl/", "yaml-cpp/")),
    ("app/server/", ("app/", "controllers/", "models/", "triggers/"), ("fmt/", "tl/", "yaml-cpp/", "drogon/", "trantor/")),
    ("app/client/", ("app/client/", "app/http/", "models/"), ("fmt/", "tl/")),
    ("app/worker/", ("app/worker/", "app/client/", "app/config/", "app/log/", "models/"), ("fmt/", "tl/")),
    ("app/cli/", ("app/", "models/"), ("fmt/", "tl/", "json/", "CLI/")),
    ("app/main.cc", ("app/",), ()),
    ("app/service_main.cc", ("app/",), ()),
    ("app/http/", ("app/http/", "models/"), ("fmt/", "tl/", "boost/", "openssl/")),
    ("app/launch/", ("app/", "models/"), ("fmt/", "tl/", "boost/")),
    ("app/", ("app/", "models/"), ("fmt/", "tl/", "yaml-cpp/", "openssl/")),
    ("controllers/", ("controllers/", "app/", "models/", "triggers/"), ("fmt/", "tl/", "drogon/", "trantor/")),
]
UPWARD = {"models/": ("models/json/", "models/store/", "models/operations/"), "models/operations/": ("models/json/", "models/store/"), "models/json/": ("models/store/",), "app/client/": ("models/store/",), "app/worker/": ("models/store/",), "app/": ("app/server/", "app/cli/", "app/client/", "app/worker/"), "controllers/": ("app/server/", "app/cli/", "app/client/", "app/worker/")}
THIRD_PARTY = re.compile(r"^(fmt|tl|drogon|trantor|json|yaml-cpp|CLI|boost|openssl)/|^sqlite3\.h$|^libpq")

faults = 0
for path in sys.argv[1:]:
    rank = next((r for r in RANKS if path.startswith(r[0])), None)
    if rank is None:
        continue
    for number, line in enumerate(open(path, encoding="utf-8"), 1):
        match = re.match(r'\s*#include [<"]([^>"]+)[>"]', line)
        if not match:
            continue
        target = match.group(1)
        if THIRD_PARTY.match(target):
            allowed = target.startswith(rank[2]) if rank[2] else False
        elif "/" in target and target.split("/")[0] in ("models", "app", "controllers", "triggers", "tests"):
            allowed = target.startswith(rank[1]) and not target.startswith(UPWARD.get(rank[0], ()) or "\0")
        else:
            continue
        if not allowed:
            faults += 1
            print(f"{path}:{number}: {rank[0]} must not include {target}")
sys.exit(1 if faults else 0)
