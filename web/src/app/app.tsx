import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { Link, Route, Switch } from "wouter";
import { retryUnlessRefused, runQuery } from "@/api/queries";
import { RunsPage } from "@/app/runs-page";
import { Shell } from "@/app/shell";
import { Boundary } from "@/ui/boundary";
import { Empty } from "@/ui/feedback";
import { later } from "@/ui/later";
import { Toasts } from "@/ui/toast";
import { Tooltips } from "@/ui/tooltip";

const RunPage = later(() => import("@/app/run-page").then((module) => module.RunPage));
const NewRunPage = later(() => import("@/app/new-run-page").then((module) => module.NewRunPage));
const ReposPage = later(() => import("@/app/repos-page").then((module) => module.ReposPage));
const RepoPage = later(() => import("@/app/repo-page").then((module) => module.RepoPage));
const BoardPage = later(() => import("@/app/board-page").then((module) => module.BoardPage));
const CardPage = later(() => import("@/app/card-page").then((module) => module.CardPage));
const PlaygroundPage = later(() => import("@/app/playground-page").then((module) => module.PlaygroundPage));

const client = new QueryClient({
  defaultOptions: { queries: { retry: retryUnlessRefused, refetchOnWindowFocus: false } },
});

/** Asks for all that the page at this address needs at once, and not for one thing after the other. */
export function beginLoading(path: string): void {
  const run = /^\/runs\/([^/]+)$/.exec(path)?.[1];
  if (run === undefined) return;
  void RunPage.load();
  void client.prefetchQuery(runQuery(decodeURIComponent(run)));
}

export function App() {
  return (
    <QueryClientProvider client={client}>
      <Shell>
        <Boundary>
          <Switch>
            <Route path="/" component={RunsPage} />
            <Route path="/new">
              <NewRunPage />
            </Route>
            <Route path="/repos">
              <ReposPage />
            </Route>
            <Route path="/repos/:id">{({ id }) => <RepoPage key={id} id={id} />}</Route>
            <Route path="/repos/:id/board">{({ id }) => <BoardPage key={id} id={id} />}</Route>
            <Route path="/playground">
              <PlaygroundPage />
            </Route>
            <Route path="/cards/:id">{({ id }) => <CardPage key={id} id={id} />}</Route>
            <Route path="/runs/:id">{({ id }) => <RunPage id={id} />}</Route>
            <Route>
              <Empty title="Page not found">
                <Link href="/" className="text-accent hover:underline">
                  Go to runs
                </Link>
              </Empty>
            </Route>
          </Switch>
        </Boundary>
      </Shell>
      <Toasts />
      <Tooltips />
    </QueryClientProvider>
  );
}
