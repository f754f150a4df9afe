import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";
import { toast } from "@/ui/toast";

/** Do something to a repository and ask for it again; what is refused is told, and answered with false. */
export function useChange(repo: string) {
  const client = useQueryClient();
  return useCallback(
    async (act: () => Promise<unknown>): Promise<boolean> => {
      try {
        await act();
        return true;
      } catch (error) {
        toast((error as Error).message, "bad");
        return false;
      } finally {
        await Promise.all([
          client.invalidateQueries({ queryKey: ["repo", repo] }),
          client.invalidateQueries({ queryKey: ["repos"] }),
        ]);
      }
    },
    [client, repo],
  );
}
