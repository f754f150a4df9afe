/** A message in which what stands between backticks is code, as the server writes it. */
export function TickedText({ text }: { text: string }) {
  return text.split(/(`[^`]+`)/).map((part, at) =>
    part.length > 2 && part.startsWith("`") && part.endsWith("`") ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text have no other name
      <code key={at} className="font-mono">
        {part.slice(1, -1)}
      </code>
    ) : (
      part
    ),
  );
}
