"""Writes files into one C++ source: embed.py VARIABLE OUT FILE…"""
import os
import sys

variable, out, files = sys.argv[1], sys.argv[2], sys.argv[3:]
lines = ['#include "models/embedded_file.h"', "", "namespace muster {", f"const std::vector<EmbeddedFile> {variable} = {{"]
for path in files:
    with open(path, "rb") as source:
        content = source.read()
    lines.append(f'    {{"{os.path.basename(path)}", std::string_view(')
    # Octal escapes of three digits cannot run into the character that follows them.
    for start in range(0, max(len(content), 1), 64):
        chunk = content[start : start + 64]
        text = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}" for b in chunk)
        lines.append(f'        "{text}"')
    lines.append(f"        , {len(content)})}},")
lines += ["};", "}  // namespace muster", ""]
os.makedirs(os.path.dirname(out), exist_ok=True)
with open(out, "w") as target:
    target.write("\n".join(lines))
