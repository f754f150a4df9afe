// Before the application is there. What its page needs of the server is asked for now; `api/early.ts` takes the answers.
(() => {
  const WAITS = 20_000; // milliseconds for somebody to take an answer

  const ask = (address) => {
    const leaving = new AbortController();
    const answer = fetch(address, { signal: leaving.signal });
    answer.catch(() => {}); // who takes it is told
    window.asked[address] = { answer, leave: () => leaving.abort() };
    setTimeout(() => {
      if (!window.asked[address]) return;
      delete window.asked[address];
      leaving.abort();
    }, WAITS);
  };

  window.asked = {};
  if (/^\/runs\/[^/]+$/.test(location.pathname)) {
    ask(`/api/v1${location.pathname}`);
    ask(`/api/v1${location.pathname}/events?after=0`);
  }

  // The theme, so that the page never flashes in the other one. It takes longer than one would think to read it.
  let theme = null;
  try {
    theme = localStorage.getItem("pitstop.theme");
  } catch {
    // Storage can be switched off; then the system decides.
  }
  const dark = theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
