// The .vsix: a zip with the extension, and two files that say what is in it.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

import { zip } from "./zip.mjs";

const CONTENT_TYPES = { json: "application/json", js: "application/javascript", md: "text/markdown", txt: "text/plain", vsixmanifest: "text/xml" };
const manifest = JSON.parse(readFileSync("package.json", "utf8"));
const { scripts, devDependencies, ...shipped } = manifest;

const files = [
  ["extension.vsixmanifest", Buffer.from(vsixManifest(shipped))],
  ["[Content_Types].xml", Buffer.from(contentTypes())],
  ["extension/package.json", Buffer.from(JSON.stringify(shipped, null, 2))],
  ["extension/README.md", readFileSync("README.md")],
  ["extension/LICENSE.txt", readFileSync("../../LICENSE")],
  ["extension/dist/extension.js", readFileSync("dist/extension.js")],
];
const target = `../../dist/pitstop-vscode-${manifest.version}.vsix`;
mkdirSync("../../dist", { recursive: true });
writeFileSync(target, zip(files));
console.log(target.replace("../../", ""));

function vsixManifest({ name, version, publisher, displayName, description, categories, engines }) {
  return `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${name}" Version="${version}" Publisher="${publisher}" />
    <DisplayName>${escape(displayName)}</DisplayName>
    <Description xml:space="preserve">${escape(description)}</Description>
    <Categories>${categories.join(",")}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="${engines.vscode}" />
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace" />
    </Properties>
    <License>extension/LICENSE.txt</License>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code" />
  </Installation>
  <Dependencies />
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true" />
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true" />
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true" />
  </Assets>
</PackageManifest>
`;
}

function contentTypes() {
  const types = Object.entries(CONTENT_TYPES).map(([ending, type]) => `<Default Extension=".${ending}" ContentType="${type}" />`);
  return `<?xml version="1.0" encoding="utf-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">${types.join("")}</Types>
`;
}

function escape(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
