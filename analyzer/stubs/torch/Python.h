#pragma once
#define PyMODINIT_FUNC extern "C" struct _object*
