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
  const [command, setCommand] = useState("pitstop login");
  useEffect(() => {
    const read = ({ message }: Error) => setCommand(/`([^`]+ login)`/.exec(message)?.[1] ?? "pitstop login");
    void api.me().catch(read); // the server says how it was started
  }, []);
  const isExpired = new URLSearchParams(location.search).get("login") === "expired";
  usePageTitle("Sign in");

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
          {isExpired ? "This login link has expired" : "Sign in required"}
        </h1>
        <p className="mt-1 text-muted">
          {isExpired
            ? "A link works once and expires in five minutes. Get a new one:"
            : "A login link from the terminal signs this browser in for a week."}
        </p>
        <ol className="mt-4 list-decimal space-y-2 pl-5">
          <li>
            Run this on the server's machine:
            <pre className="mt-1 whitespace-pre-wrap break-words rounded-md bg-sunken px-2 py-1.5 font-mono text-sm">
              {command}
            </pre>
          </li>
          <li>Open the printed link in this browser. It works once and expires in five minutes.</li>
        </ol>
        <p className="mt-4 text-muted text-sm">Someone else's server? Ask its admin for a link.</p>
        <div className="mt-5">
          <Button look="primary" onClick={tryAgain} isBusy={isAsking}>
            Check again
          </Button>
        </div>
      </section>
    </div>
  );
}
