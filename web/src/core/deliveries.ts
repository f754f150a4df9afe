/** What was delivered to a webhook, and how it was answered. */

type Answer = { status: number; reason: string | null };

/** The status that a delivery is drawn with, and how it was answered, in words. */
export function describeAnswer({ status, reason }: Answer): { status: string; text: string } {
  switch (status) {
    case 200:
      return { status: "passed", text: "signature verified" };
    case 202:
      return { status: "passed", text: "accepted, signature verified" };
    case 401:
      return { status: "failed", text: reason ?? "the signature is wrong" };
    default:
      return { status: status < 400 ? "passed" : "failed", text: reason ?? `answered with ${status}` };
  }
}

/** The event of a delivery; of one that was refused, what its headers say. */
export function eventOf({ event, headers }: { event: string; headers: Readonly<Record<string, string>> }): string {
  const named = Object.entries(headers).find(([name]) => name.endsWith("-event"))?.[1];
  return event || named || "unknown event";
}
