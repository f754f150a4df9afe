/** For every test: what is waited for may take as long as a busy machine takes. */

import { configure } from "@testing-library/react";

configure({ asyncUtilTimeout: 30_000 });
