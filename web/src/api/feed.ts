/** What happens on the server, followed: one connection for all that follow the same topics. */

import { useEffect, useRef, useState } from "react";
import { type Connection, follow } from "@/api/sse";
import { urlOf } from "@/api/url";

/** Something that happened; its topic is `runs`, `repos`, or `repo:` and the name of a repository. */
export type News = { id: number; at: number; topic: string; kind: string; body: Record<string, unknown> };

/** Called with what happened; with an empty list after each connection: anything may have happened before it. */
export type OnNews = (news: readonly News[]) => Promise<unknown> | undefined;

type Follower = { onNews: (news: readonly News[]) => void; onConnection: (connection: Connection) => void };
type Shared = { followers: Set<Follower>; connection: Connection; close: () => void };

const PAUSE_MILLISECONDS = 250; // between two calls
const shared = new Map<string, Shared>();

/** Follow some topics until the result is called. */
function join(topics: readonly string[], follower: Follower): () => void {
  const key = [...topics].sort().join(" ");
  const found = shared.get(key) ?? open(key, topics);
  found.followers.add(follower);
  follower.onConnection(found.connection);
  if (found.connection === "live") follower.onNews([]);
  return () => {
    found.followers.delete(follower);
    if (found.followers.size > 0) return;
    found.close();
    shared.delete(key);
  };
}

/** A connection while the page is looked at: a browser has only six for all its tabs. */
function open(key: string, topics: readonly string[]): Shared {
  const opened: Shared = { followers: new Set(), connection: "connecting", close: () => undefined };
  shared.set(key, opened);
  let leave: (() => void) | null = null;
  const note = (connection: Connection) => {
    opened.connection = connection;
    for (const each of opened.followers) {
      each.onConnection(connection);
      if (connection === "live") each.onNews([]);
    }
  };
  const connect = () =>
    follow({
      url: urlOf("/feed", { topic: topics }),
      onEvents: (events) => {
        const news = events.map((event) => JSON.parse(event.data) as News);
        for (const each of opened.followers) each.onNews(news);
      },
      onConnection: note,
    });
  const look = () => {
    if (opened.connection === "ended") return;
    if (!document.hidden) leave ??= connect();
    else if (leave) {
      leave();
      leave = null;
      note("connecting");
    }
  };
  look();
  document.addEventListener("visibilitychange", look);
  opened.close = () => {
    document.removeEventListener("visibilitychange", look);
    leave?.();
  };
  return opened;
}

/** Calls that come too fast, as one: the next one waits until the last is done, and for a quarter of a second. */
export class Throttle {
  #waiting: readonly News[] | null = null;
  #isBusy = false;
  #isClosed = false;

  constructor(readonly onNews: OnNews) {}

  push(news: readonly News[]): void {
    const isAnything = news.length === 0 || this.#waiting?.length === 0;
    this.#waiting = isAnything ? [] : [...(this.#waiting ?? []), ...news];
    if (!this.#isBusy) void this.#work();
  }

  close(): void {
    this.#isClosed = true;
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    while (this.#waiting !== null && !this.#isClosed) {
      const news = this.#waiting;
      this.#waiting = null;
      const paused = new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS));
      await Promise.allSettled([this.onNews(news), paused]);
    }
    this.#isBusy = false;
  }
}

/** Follow topics while the component is there. The result is `ended` where the server has no feed. */
export function useFeed(topics: readonly string[], onNews: OnNews): Connection {
  const [connection, setConnection] = useState<Connection>("connecting");
  const latest = useRef(onNews);
  latest.current = onNews;
  const key = topics.join(" ");
  useEffect(() => {
    const throttle = new Throttle((news) => latest.current(news));
    const leave = join(key.split(" "), { onNews: (news) => throttle.push(news), onConnection: setConnection });
    return () => {
      leave();
      throttle.close();
    };
  }, [key]);
  return connection;
}
