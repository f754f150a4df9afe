import "@/styles.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App, beginLoading } from "@/app/app";

beginLoading(location.pathname);
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
