/** A project with mistakes, and agents that act out a script: what the stories of fix loops run. */

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** A mistake is a line of code.txt, and each fails a test. */
const CHECK = `code=0
for each in $(cat code.txt); do
  case $each in ok*) continue ;; esac
  echo "FAILED tests/test_code.py::test_$each - AssertionError: $each is wrong"
  code=1
done
exit $code
`;
const REPORT = `## Failure

A test fails: see \`code.txt\`.

## Root cause

A line of code.txt is wrong.

## Evidence

The line does not begin with \`ok\`.

## Options

### Option 1: Repair it

Trade-offs: none.
Files: code.txt
Steps: change the line.

### Option 2: Rewrite it

Trade-offs: larger.
Files: code.txt
Steps: write it again.

## Recommendation

Option 1.

## Why the last fix failed

It repaired something else.
`;
const AGENT = `repair() { sed -i "s/^$1\\$/\${2:-ok_$1}/" code.txt; }
report() {
  path=$(echo "$PITSTOP_FIX_REPORT" | sed "s/SLUG/cause/")
  mkdir -p "$(dirname "$path")"
  cat plays/report.md > "$path"
  printf 'DEBUG_REPORT_PATH: %s\\nRoot cause: \`code.txt\` has a wrong line\\n' "$path"
  echo 'Recommended fix: Option 1 - repair it'
}
play=plays/$PITSTOP_FIX_ROLE
for each in $play-$PITSTOP_FIX_ITERATION-$PITSTOP_FIX_ATTEMPT $play-$PITSTOP_FIX_ITERATION $play; do
  if [ -e "$each" ]; then . "./$each"; exit; fi
done
report
`;
const flow = (name: string, run: string, fix = "fix: {agent: scripted, early_stop: false}") => `name: ${name}
steps:
  - id: tests
    run: ${run}
    ${fix}
  - id: after
    run: echo after
`;

/** The code with these mistakes. */
export function codeOf(mistakes: readonly string[]): string {
  return mistakes.map((each) => `${each}\n`).join("");
}

/** A folder with the flows `shop`, `missing`, and `plain`, which fixes nothing. `plays` are what the agents do, by `ROLE`, `ROLE-ITERATION` or with `-ATTEMPT`. */
export function fixProject(mistakes: readonly string[], plays: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "pitstop-fix-"));
  const files: Record<string, string> = {
    "shop.yaml": flow("shop", "sh check.sh"),
    "missing.yaml": flow("missing", "no-such-command"),
    "plain.yaml": flow("plain", "sh check.sh", ""),
    ".pitstop/agents/scripted.yaml": "extends: command\ncommand: [sh, agent.sh]\n",
    "agent.sh": AGENT,
    "check.sh": CHECK,
    "code.txt": codeOf(mistakes),
    "tests/test_code.py": "def test_code():\n    assert True\n",
    "plays/report.md": REPORT,
    ...Object.fromEntries(Object.entries(plays).map(([name, play]) => [`plays/${name}`, play])),
  };
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
}
