// Before the first paint, so that the page never flashes in the other theme.
(() => {
  let theme = null;
  try {
    theme = localStorage.getItem("pitstop.theme");
  } catch {
    // Storage can be switched off; then the system decides.
  }
  const dark = theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
})();
