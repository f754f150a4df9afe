import { expect, test } from "vitest";
import { describeAnswer, eventOf } from "@/core/deliveries";

test("a delivery says whether its signature was verified, or why it was rejected", () => {
  expect(describeAnswer({ status: 202, reason: null })).toEqual({
    status: "passed",
    text: "accepted, signature verified",
  });
  expect(describeAnswer({ status: 200, reason: "ping" }).text).toBe("signature verified");
  const refusal = "the delivery is refused: X-Hub-Signature-256 is missing";
  expect(describeAnswer({ status: 401, reason: refusal })).toEqual({ status: "failed", text: refusal });
  expect(describeAnswer({ status: 422, reason: "the body is not JSON" }).text).toBe("the body is not JSON");
});

test("a delivery that was refused is named by its headers", () => {
  expect(eventOf({ event: "push", headers: {} })).toBe("push");
  expect(eventOf({ event: "", headers: { "user-agent": "curl", "x-github-event": "issues" } })).toBe("issues");
  expect(eventOf({ event: "", headers: {} })).toBe("unknown event");
});
