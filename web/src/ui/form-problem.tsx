/** Why the server refused what a form asks for, in its words. */
export function FormProblem({ problem }: { problem: string | null }) {
  return (
    problem !== null && (
      <p role="alert" className="whitespace-pre-wrap text-failed [overflow-wrap:anywhere]">
        {problem}
      </p>
    )
  );
}
