import { FileArchive, Folder } from "lucide-react";
import { api } from "@/api/client";
import { useArtifacts } from "@/api/queries";
import { useRun, useRunValue } from "@/api/run-context";
import { formatBytes } from "@/core/time";
import { Empty, Failed, Loading } from "@/ui/feedback";

/** The files that steps handed on. */
export function ArtifactsPanel() {
  const { run } = useRun("run");
  const ended = useRunValue(({ view }) => view.ended);
  const artifacts = useArtifacts(run.id, ended);
  if (artifacts.error) return <Failed error={artifacts.error} onRetry={() => artifacts.refetch()} />;
  if (!artifacts.data) return <Loading />;
  if (artifacts.data.length === 0) {
    return (
      <Empty icon={<FileArchive className="size-6" />} title="No artifacts">
        A step stores files with <code className="font-mono text-sm">artifacts: dist/*</code>.
      </Empty>
    );
  }
  return (
    <ul className="h-full divide-y divide-line overflow-auto">
      {artifacts.data.map(({ path, size, is_folder }) => (
        <li key={path} className="flex items-center gap-2 px-3 py-1.5">
          {is_folder ? (
            <Folder className="size-4 text-muted" aria-hidden />
          ) : (
            <FileArchive className="size-4 text-muted" aria-hidden />
          )}
          {is_folder ? (
            <span className="min-w-0 flex-1 truncate">{path}</span>
          ) : (
            <a
              href={api.artifactUrl(run.id, path)}
              download
              className="min-w-0 flex-1 truncate text-accent hover:underline"
            >
              {path}
            </a>
          )}
          <span className="text-muted text-sm tabular">{formatBytes(size)}</span>
        </li>
      ))}
    </ul>
  );
}
