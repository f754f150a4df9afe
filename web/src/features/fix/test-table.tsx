import { Check, CirclePlus, CircleX, X } from "lucide-react";
import { useState } from "react";
import { type TestCell, type TestRow, testMatrix } from "@/core/fix-matrix";
import type { FixView } from "@/core/fix-view";
import { CELLS } from "@/features/fix/fix-words";
import { Button } from "@/ui/button";
import { classNames } from "@/ui/class-names";
import { Badge, TONE_TEXT } from "@/ui/status-icon";

const ICONS = { failing: X, other: CircleX, new: CirclePlus, passing: Check };
const MOST_WITH_WORDS = 5; // columns
const MOST_THAT_FIT = 11; // columns, on a narrow screen
const AT_FIRST = 10; // rows

/** Which tests failed after which iteration. */
export function TestTable({ fix }: { fix: FixView }) {
  const { columns, rows, more } = testMatrix(fix);
  const [showsAll, setShowsAll] = useState(false);
  const isWhole = showsAll || rows.length <= AT_FIRST + 2;
  if (rows.length === 0) return more > 0 && <p className="text-muted">{more} failing, with no names.</p>;
  const isWide = columns.length > MOST_THAT_FIT;
  return (
    <div
      className={classNames("@container", isWide && "overflow-x-auto")}
      {...(isWide && { role: "group", "aria-label": "Tests by iteration", tabIndex: 0 })}
    >
      <table className="w-full border-collapse text-sm">
        <caption className="sr-only">Failing tests by iteration</caption>
        <thead>
          <tr className="border-line border-b text-muted">
            <th scope="col" className="py-1 text-left font-medium">
              Test
            </th>
            {columns.map(({ n, after }, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: columns are only added
              <th key={at} scope="col" className="px-0.5 py-1 @lg:px-1 text-left font-medium tabular">
                {after === "user" ? "User" : n === 0 ? "Start" : <IterationNumber n={n} />}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, isWhole ? rows.length : AT_FIRST).map((row) => (
            <Row key={row.test} row={row} hasWords={columns.length <= MOST_WITH_WORDS} />
          ))}
        </tbody>
      </table>
      {!isWhole && (
        <Button size="sm" look="quiet" className="mt-1" onClick={() => setShowsAll(true)}>
          Show all {rows.length} tests
        </Button>
      )}
      {isWhole && more > 0 && <p className="pt-1 text-muted text-sm">and {more.toLocaleString()} more</p>}
    </div>
  );
}

function IterationNumber({ n }: { n: number }) {
  return (
    <>
      <span aria-hidden>#{n}</span>
      <span className="sr-only">Iteration {n}</span>
    </>
  );
}

function Row({ row: { test, error, message, mark, cells }, hasWords }: { row: TestRow; hasWords: boolean }) {
  const told = [error, message].filter(Boolean).join(": ");
  return (
    <tr className="border-line border-b align-top">
      <th scope="row" className="min-w-28 py-1 pr-2 text-left font-normal">
        <span className="[overflow-wrap:anywhere]">{test}</span>{" "}
        {mark && <Badge tone="muted">{mark === "flaky" ? "flaky" : "pre-existing"}</Badge>}
        {told !== test && (
          <span className="line-clamp-1 text-muted [overflow-wrap:anywhere]" title={told}>
            {told}
          </span>
        )}
      </th>
      {cells.map((cell, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a cell is known by its column
        <td key={at} className="px-0.5 py-1 @lg:px-1">
          <Cell cell={cell} hasWords={hasWords} />
        </td>
      ))}
    </tr>
  );
}

function Cell({ cell, hasWords }: { cell: TestCell; hasWords: boolean }) {
  const [word, tone] = CELLS[cell];
  const Icon = ICONS[cell];
  return (
    <span className={classNames("flex items-center gap-1 whitespace-nowrap", TONE_TEXT[tone])} title={word}>
      <Icon className="size-3.5 shrink-0" aria-hidden />
      <span className={classNames("sr-only", hasWords && "@lg:not-sr-only @lg:whitespace-nowrap!")}>{word}</span>
    </span>
  );
}
