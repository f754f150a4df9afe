// Connects ports of 127.0.0.1 to Unix sockets, as forward_main.py does, in images that have node and no Python.
const fs = require("fs");
const net = require("net");

const [folder, ...sockets] = process.argv.slice(1);
process.chdir(folder); // the path of a socket may be too long; its name is not
let opening = sockets.length;

for (const [port, name] of sockets.map((each) => each.split("="))) {
  const server = net.createServer({ allowHalfOpen: true }, (near) => {
    const far = net.connect({ path: name, allowHalfOpen: true });
    near.pipe(far).pipe(near);
    near.on("error", () => far.destroy());
    far.on("error", () => near.destroy());
  });
  server.listen(Number(port), "127.0.0.1", () => {
    if (--opening === 0) {
      fs.writeSync(3, "ready\n");
      fs.closeSync(3);
    }
  });
}
