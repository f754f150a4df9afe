/** Why the server refused what a form asks for, in its words. */
export function FormProblem({ problem }: { problem: string | null }) {
  return (
    problem !== null && (
      <p ref={reveal} role="alert" className="whitespace-pre-wrap text-failed [overflow-wrap:anywhere]">
        {problem}
      </p>
    )
  );
}

/** A dialog may be scrolled to where it cannot be seen. */
function reveal(problem: HTMLElement | null): void {
  problem?.scrollIntoView({ block: "nearest" });
}
