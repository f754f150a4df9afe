import { toast } from "@/ui/toast";

/** Put text on the clipboard and say so. */
export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    toast(`Copied ${what}`, "good");
  } catch {
    toast("The browser did not allow copying.", "bad");
  }
}
