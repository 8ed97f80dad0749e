/** Every row of the specification, against the sandbox over HTTP. */

import './every-row.ts'
import './mapping.ts'
