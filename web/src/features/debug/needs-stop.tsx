import { CirclePause } from "lucide-react";
import { useRun } from "@/api/run-context";
import { Button } from "@/ui/button";
import { Empty } from "@/ui/feedback";

/** Said wherever something can only be looked at while the selected frame stands still. */
export function NeedsStop({ what }: { what: string }) {
  const { stops, act, isLive, selectFrame } = useRun("stops", "act", "isLive", "selectFrame");
  const other = stops[0];
  if (!isLive) {
    return (
      <Empty icon={<CirclePause className="size-6" />} title="The run has ended">
        Run it again with a breakpoint to look at {what}.
      </Empty>
    );
  }
  return (
    <Empty
      icon={<CirclePause className="size-6" />}
      title={other ? "This frame is running" : "Nothing stands still"}
      action={
        other ? (
          <Button onClick={() => selectFrame(other.frame)}>Look at {other.frame}, which is stopped</Button>
        ) : (
          <Button onClick={() => act("pause", {})}>Pause the run</Button>
        )
      }
    >
      Stop the run to see {what}: pause it, or set a breakpoint at a step.
    </Empty>
  );
}
