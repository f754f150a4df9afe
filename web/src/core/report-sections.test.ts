import { expect, test } from "vitest";
import { reportParts } from "@/core/report-sections";

const REPORT = `---
topic: unit_failures
number: 1
---
# Rounding

## Evidence
\`\`\`python
# no heading
\`\`\`

## Options
### Option 1
Round once.
`;

test("a report is its front matter, and a text per heading; what looks like one in code is none", () => {
  expect(reportParts(REPORT)).toEqual({
    facts: [
      ["topic", "unit_failures"],
      ["number", "1"],
    ],
    sections: [
      { title: "Rounding", depth: 1, text: "" },
      { title: "Evidence", depth: 2, text: "```python\n# no heading\n```" },
      { title: "Options", depth: 2, text: "" },
      { title: "Option 1", depth: 3, text: "Round once." },
    ],
  });
  expect(reportParts("no headings").sections).toEqual([{ title: "", depth: 0, text: "no headings" }]);
});
