/** Imported first by the contract of the service as it is sold. */

import { chooseForm } from './form.ts'

chooseForm('as sold')
