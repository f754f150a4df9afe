import { useQueryClient } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useEffect, useState } from "react";
import { api } from "@/api/client";
import { usePageTitle } from "@/app/page-title";
import { Button } from "@/ui/button";

/** What a browser sees that the server does not know: how to get a link that lets it in. */
export function LoggedOut() {
  const client = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  usePageTitle("Not logged in");

  // The link may have been opened in another tab: then this one is let in, too.
  useEffect(() => {
    const look = () => void api.me().catch(() => undefined);
    window.addEventListener("focus", look);
    return () => {
      window.removeEventListener("focus", look);
      void client.resetQueries(); // what was refused before is asked for again
    };
  }, [client]);

  const tryAgain = async () => {
    setAsking(true);
    await api.me().catch(() => undefined);
    setAsking(false);
  };
  return (
    <div className="flex h-full items-center justify-center overflow-auto p-6">
      <section aria-labelledby="logged-out" className="w-full max-w-md rounded-lg border border-line bg-surface p-6">
        <KeyRound className="mb-3 size-6 text-accent" aria-hidden />
        <h1 id="logged-out" className="font-semibold text-xl">
          You are not logged in
        </h1>
        <p className="mt-1 text-muted">
          Pitstop shows runs only to people it knows. A link from the terminal logs this browser in, for a week.
        </p>
        <ol className="mt-4 list-decimal space-y-2 pl-5">
          <li>
            Start the server, or end it with Ctrl-C and start it again. Runs that are not over go on.
            <pre className="mt-1 rounded-md bg-sunken px-2 py-1.5 font-mono text-sm">pitstop up</pre>
          </li>
          <li>Open the link that it prints, in this browser. It is good once, and for five minutes.</li>
        </ol>
        <p className="mt-4 text-muted text-sm">
          A server that others look after? Ask them for a link: only they can see its terminal.
        </p>
        <div className="mt-5">
          <Button look="primary" onClick={tryAgain} isBusy={isAsking}>
            I have opened it
          </Button>
        </div>
      </section>
    </div>
  );
}
