/** Every row of the specification that holds for the service as it is sold, and what is otherwise there. */

import './play-as-sold.ts'
import './every-row.ts'
import './deviations-account.ts'
import './deviations.ts'
import './sold-table.ts'
