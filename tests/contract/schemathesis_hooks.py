"""Changes what schemathesis sends, so that requests get past their headers and stay on this machine."""
import itertools

import schemathesis

numbers = itertools.count()


def tame(value):
    if isinstance(value, list):
        for item in value:
            tame(item)
    if not isinstance(value, dict):
        return
    for name, field in value.items():
        # The service would call hosts that were made up.
        if name == "url" and isinstance(field, str):
            value[name] = "http://127.0.0.1:9/"
        # Two minutes are soon waited away.
        elif name == "wait_seconds" and isinstance(field, (int, float)):
            value[name] = min(field, 0.1)
        else:
            tame(field)


@schemathesis.hook
def before_call(context, case, kwargs):
    tame(case.body)
    tame(case.query)
    # A key that was used before, an old version and a made-up cursor end a request before the rest of
    # it is looked at. Wrong ones are still sent where wrong ones are meant.
    if case.meta and case.meta.generation.mode.is_positive:
        case.query.pop("cursor", None)
        if "Idempotency-Key" in case.headers:
            case.headers["Idempotency-Key"] = f"key-{next(numbers)}"
        if "If-Match" in case.headers:
            case.headers["If-Match"] = "*"
