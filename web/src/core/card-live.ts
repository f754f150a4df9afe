/** What a card says of the attempt that is running, in words. */

import { formatCost } from "@/core/agent-view";

/** Fields that have not been told yet are left out. */
export type CardLive = { tool?: string | null; about?: string; calls?: number; cost?: number | null };

/** The status of a run as a card shows it: a run that waits for a machine is queued. */
export function runWords(status: string): string {
  switch (status) {
    case "pending":
      return "queued";
    case "timed_out":
      return "timed out";
    default:
      return status;
  }
}

/** The last tool call in a line: "shell pytest -q"; null before the first one. */
export function lastCall({ tool, about }: CardLive): string | null {
  const words = [tool ?? "", about ?? ""].map((each) => each.trim().replace(/\s+/g, " ")).filter(Boolean);
  return words.length === 0 ? null : words.join(" ");
}

/** "12 calls · $0.42"; what is not known is left out. */
export function spentWords({ calls = 0, cost }: CardLive): string {
  const parts = [
    calls > 0 && (calls === 1 ? "1 call" : `${calls.toLocaleString("en-US")} calls`),
    typeof cost === "number" && formatCost(cost),
  ];
  return parts.filter(Boolean).join(" · ");
}
