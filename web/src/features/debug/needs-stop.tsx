import { CirclePause } from "lucide-react";
import { useRun } from "@/api/run-context";
import { Button } from "@/ui/button";
import { Empty } from "@/ui/feedback";

/** Shown where something is only available while the selected frame is paused. */
export function NeedsStop({ what }: { what: string }) {
  const { stops, act, isLive, isViewer, selectFrame } = useRun("stops", "act", "isLive", "isViewer", "selectFrame");
  const other = stops[0];
  if (!isLive) {
    return (
      <Empty icon={<CirclePause className="size-6" />} title="The run has ended">
        {isViewer ? `It shows ${what} only while it is paused.` : `Re-run it with a breakpoint to see ${what}.`}
      </Empty>
    );
  }
  return (
    <Empty
      icon={<CirclePause className="size-6" />}
      title={other ? "This frame is running" : "Nothing is paused"}
      action={
        other ? (
          <Button onClick={() => selectFrame(other.frame)}>Show {other.frame}, which is paused</Button>
        ) : (
          !isViewer && <Button onClick={() => act("pause", {})}>Pause run</Button>
        )
      }
    >
      {isViewer ? `A run shows ${what} while it is paused.` : `To see ${what}, pause the run or add a breakpoint.`}
    </Empty>
  );
}
