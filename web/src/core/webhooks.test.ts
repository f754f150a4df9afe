import { expect, test } from "vitest";
import { deliveryScript, listeningFlows } from "@/core/webhooks";

const flows = [
  { name: "ci", triggers: { webhook: { provider: "github", events: ["push", "pull_request"] } } },
  { name: "deploy", triggers: { webhook: {}, manual: {} } },
  { name: "nightly", triggers: { schedule: [{ cron: "0 2 * * *" }] } },
  { name: "old", triggers: { webhook: { enabled: false } } },
];

test("a webhook names the flows that look at its deliveries, with their events", () => {
  expect(listeningFlows({ provider: "github", flow: null }, flows)).toEqual(["ci (push, pull_request)"]);
  expect(listeningFlows({ provider: "plain", flow: null }, flows)).toEqual(["deploy (all events)"]);
  expect(listeningFlows({ provider: "gitlab", flow: null }, flows)).toEqual([]);
  expect(listeningFlows({ provider: "github", flow: "ci" }, flows)).toEqual(["ci (push, pull_request)"]);
  expect(listeningFlows({ provider: "github", flow: "gone" }, flows)).toEqual([]);
});

test("the script to sign a delivery has the address, and not the secret", () => {
  expect(deliveryScript("https://ci.example.org/hooks/x")).toMatch(
    /"\$SECRET".*https:\/\/ci\.example\.org\/hooks\/x$/s,
  );
});
