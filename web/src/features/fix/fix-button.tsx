import { Wrench } from "lucide-react";
import { useState } from "react";
import { useLocation } from "wouter";
import type { RunDetail } from "@/api/types";
import { runLink } from "@/core/links";
import { FixDialog } from "@/features/fix/fix-dialog";
import { Button } from "@/ui/button";

type FixButtonProps = { run: RunDetail; test: { step: string; suite: string; name: string } };

/** Asks how to fix a test that failed in the run, and opens the run that does. */
export function FixButton({ run, test: { step, suite, name } }: FixButtonProps) {
  const [isOpen, setOpen] = useState(false);
  const [, navigate] = useLocation();
  return (
    <>
      <Button
        size="sm"
        icon={<Wrench className="size-3" aria-hidden />}
        aria-label={`Fix ${name}…`}
        onClick={() => setOpen(true)}
      >
        Fix…
      </Button>
      {isOpen && (
        <FixDialog
          run={run}
          step={step}
          goal={`Make ${suite ? `${suite}::` : ""}${name} pass`}
          onOpenRun={(id) => navigate(runLink(id))}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}
