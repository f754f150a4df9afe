/** The wire between a page and its server, to be cut and mended. */

import { connect, createServer, type Server, type Socket } from "node:net";
import { freePort } from "./server.ts";

export class Wire {
  #server: Server | null = null;
  #sockets = new Set<Socket>();

  private constructor(
    private target: number,
    private port: number,
  ) {}

  static async to(target: number): Promise<Wire> {
    const wire = new Wire(target, await freePort());
    await wire.mend();
    return wire;
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async cut(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => server?.close(resolve));
  }

  async mend(): Promise<void> {
    const server = createServer((near) => {
      const far = connect(this.target, "127.0.0.1");
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket);
        socket.on("error", () => undefined);
        socket.on("close", () => {
          this.#sockets.delete(socket);
          other.destroy();
        });
        socket.pipe(other);
      }
    });
    await new Promise<void>((resolve) => server.listen(this.port, "127.0.0.1", resolve));
    this.#server = server;
  }
}
